"""How is a history of a mesh made up, that looks as if nodes had written it?"""
