"""What may enter a prompt file, and what a stored text says about itself (contract section 4).

Pure but for the event recorder that the policy is given: nothing here opens a file of the user's, reads the environment
or knows gRPC. The rules are data (`rules.toml`); `policy.py` is where a decision is made.
"""

from .advisories import advise
from .policy import PromptWritePolicy
from .scanner import Scanner, ScannerFailed, Verdict
from .secrets import find_secrets, redact

__all__ = ["PromptWritePolicy", "Scanner", "ScannerFailed", "Verdict", "advise", "find_secrets", "redact"]
