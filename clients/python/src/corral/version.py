"""Of the client; every request names it."""

from typing import Final

__version__: Final = "0.2.0"
USER_AGENT: Final = f"corral-python/{__version__}"
