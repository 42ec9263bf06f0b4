"""The generator of mesh histories, which look as if nodes had written them."""
