"""Errors of jobs, each with advice.

This module imports nothing.
"""


class SparkJobError(Exception):
    """A job that failed. The text says what happened, where, and the likely reason.

    `hint` is the advice. `code` is stable, for programs and for looking it up in the docs.
    """

    def __init__(self, what: str, hint: str, code: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.what} {self.hint} [{self.code}]"
