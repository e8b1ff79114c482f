"""What AscendCL answers: its return codes, and the refusal that carries one with its message."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.core.errors import WorkbenchError
    from workbench.core.problems import Problem
    from workbench.core.words import Message


class AclError(IntEnum):
    """Return codes of AscendCL by its own names; 0 is success.

    Source: ``acl_base.h``, ``ge_error_codes.h`` and ``rt_error_codes.h`` of CANN.
    """

    ACL_SUCCESS = 0
    ACL_ERROR_INVALID_PARAM = 100000
    ACL_ERROR_UNINITIALIZE = 100001
    ACL_ERROR_REPEAT_INITIALIZE = 100002
    ACL_ERROR_INVALID_FILE = 100003
    ACL_ERROR_WRITE_FILE = 100004
    ACL_ERROR_PARSE_FILE = 100006
    ACL_ERROR_INVALID_DUMP_CONFIG = 100009
    ACL_ERROR_MODEL_INPUT_NOT_MATCH = 100017
    ACL_ERROR_OP_INPUT_NOT_MATCH = 100021
    ACL_ERROR_OP_ATTR_NOT_MATCH = 100023
    ACL_ERROR_OP_NOT_FOUND = 100024
    ACL_ERROR_REPEAT_FINALIZE = 100037
    ACL_ERROR_DUMP_ALREADY_RUN = 100044
    ACL_ERROR_DUMP_NOT_RUN = 100045
    ACL_ERROR_RT_INVALID_DEVICEID = 107001
    ACL_ERROR_GE_EXEC_NOT_INIT = 145001
    ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID = 145002
    ACL_ERROR_GE_EXEC_MODEL_ID_INVALID = 145003
    ACL_ERROR_INTERNAL_ERROR = 500000
    ACL_ERROR_RT_MODEL_EXECUTE = 507011
    ACL_ERROR_RT_AICORE_EXCEPTION = 507015
    ACL_ERROR_RT_VECTOR_CORE_EXCEPTION = 507035
    ACL_ERROR_GE_LOAD_MODEL = 545001


class AclRefusal(Exception):
    """A call that fails; it never leaves `workbench.ascendcl.api`.

    ``error_code`` is the code of the message (``EP0008``), empty if AscendCL reports none.
    """

    def __init__(
        self, code: AclError, said: Message | WorkbenchError | Problem, error_code: str = ""
    ) -> None:
        super().__init__(said)
        self.code, self.said, self.error_code = code, said, error_code

    def __str__(self) -> str:
        return f"{self.error_code}: {self.said}" if self.error_code else str(self.said)
