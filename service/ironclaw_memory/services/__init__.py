"""The gRPC handlers: read the message, call the use case, fill the answer. No locks, no paths, no logging."""
