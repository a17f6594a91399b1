"""What surrounds every call, one concern a file.

From the outside in:

    errors ⟶ deadline ⟶ scope ⟶ rates ⟶ admission ⟶ safety events ⟶ parsing ⟶ handler

Each concern is a context manager around the handler (`around.py`), so that calls and streams are covered alike.
"""
