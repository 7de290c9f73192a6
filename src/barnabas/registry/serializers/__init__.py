"""Serializers and deserializers: values to bytes that say which schema of a registry they have, and back.

Whatever asks the registry is written once, as steps (`serializing`, `deserializing`), for plain calls, for
asyncio, and for facades that bring a registry's client of their own.
"""
