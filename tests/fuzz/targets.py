"""The names of the fuzz targets, each a module beside this one."""

TARGETS = ("scanner", "paths", "scopes", "tool_json", "audit")
