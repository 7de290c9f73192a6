"""What the clients and (de)serializers for plain calls and for asyncio have in common."""

from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit as asyncinit
