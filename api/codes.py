"""The stable codes of problems in documents, one for each class of fault.

`MP100` is an invocation that cannot be run as it was written, `MP101` the whole of an invalid fleet.
"""

from enum import StrEnum


class Code(StrEnum):
    """Errors from MP102, warnings from MP150."""

    UNREADABLE = "MP102"
    NOT_TEXT = "MP103"
    NOT_YAML = "MP104"
    TOO_LARGE = "MP105"
    EMPTY_FILE = "MP106"
    DUPLICATE_KEY = "MP107"
    NOT_A_DOCUMENT = "MP108"
    UNKNOWN_API_VERSION = "MP109"
    UNKNOWN_KIND = "MP110"
    MISSING_FIELD = "MP111"
    UNKNOWN_FIELD = "MP112"
    WRONG_TYPE = "MP113"
    OUT_OF_RANGE = "MP114"
    WRONG_FORM = "MP115"
    BROKEN_RULE = "MP116"
    DUPLICATE_ENTRY = "MP117"
    DUPLICATE_DOCUMENT = "MP118"
    MISSING_CLASS = "MP119"
    UNFIT_CLASS = "MP120"
    BAD_CEL = "MP121"
    NO_DOCUMENTS = "MP122"
    NO_SUCH_VALUE = "MP123"
    UNUSABLE_VALUE = "MP124"
    IMMUTABLE = "MP135"

    EMPTY_DOCUMENT = "MP150"
    IGNORED_DOCUMENT = "MP151"
    MISSING_KEY = "MP152"
    MISSING_CACHE = "MP153"
    CAUTION = "MP154"
    UNUSED_SETTING = "MP155"
    NO_MATCH = "MP156"
    EXPORTED = "MP157"
