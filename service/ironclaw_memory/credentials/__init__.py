"""Who may: API keys, signed tokens and client certificates, each proven and turned into the grant that goes with it.

What a grant allows is `contract.grant`; that calls are held to it is the scope interceptor's affair. Nothing here knows
gRPC: what a call presents comes in as values.
"""
