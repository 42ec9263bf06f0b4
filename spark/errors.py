"""Errors of jobs, each with advice.

This module imports nothing.
"""


class SparkJobError(Exception):
    """The failure of a job: what happened, where, and the likely reason.

    `hint` is advice for the user. `code` is stable: programs may compare it, and the docs list it.
    """

    def __init__(self, what: str, hint: str, code: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.what} {self.hint} [{self.code}]"
