"""Avro schemas that follow each other, and that do not."""

USER = '{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}'
USER_2 = (
    '{"type":"record","name":"User","fields":[{"name":"id","type":"long"},'
    '{"name":"name","type":["null","string"],"default":null}]}'
)
USER_3 = USER_2.replace('"name":"name"', '"name":"mail"')
OTHER = '{"type":"record","name":"User","fields":[{"name":"x","type":"int"}]}'
SPACED = '{"type": "record", "name": "User",\n "fields": [{"name": "id", "type": {"type": "long"}}]}'
TEAM = '{"type":"record","name":"Team","fields":[{"name":"lead","type":"User"}]}'
