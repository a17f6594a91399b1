"""Values and rules of the `ironclaw.memory` contract: scopes, paths, arguments, results, faults.

Pure: nothing here opens a file, reads the environment or knows gRPC. Everything below the interceptors speaks in
these types, so a scope or a path that exists as one of them has already been checked.
"""
