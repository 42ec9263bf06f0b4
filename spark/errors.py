"""What can go wrong in a job, and what does its user type next? (This file imports nothing.)"""


class SparkJobError(Exception):
    """A job that cannot be done; the text says what happened, where and the likely reason.

    `hint` says what to type next; `code` is stable and meant for programs and for looking it up in the docs.
    """

    def __init__(self, what: str, hint: str, code: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.what} {self.hint} [{self.code}]"
