"""What requests ask for, once their JSON is read. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import replace

from barnabas.registry_server import entities
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject, fields
from barnabas.values import frozen

ENTITY_TYPES = {"sr_record": "record", "sr_field": "field"}
SCHEMA_TAGS = entities.list_of(
    fields(
        {
            "schemaEntity": fields(
                {"entityPath": entities.text, "entityType": entities.one_of(*ENTITY_TYPES)}
            ),
            "tags": entities.list_of(entities.text),
        }
    )
)
REGISTER = fields(
    {
        "version": entities.number,
        "id": entities.number,
        "schemaType": entities.text,
        "references": entities.REFERENCES,
        "metadata": entities.METADATA,
        "ruleSet": entities.RULE_SET,
        "schema": entities.text,
        "schemaTagsToAdd": SCHEMA_TAGS,
        "schemaTagsToRemove": SCHEMA_TAGS,
        "propagateSchemaTags": entities.boolean,
    }
)
"""Of those that name a schema. What an answer has beside is taken and not looked at."""
TAG = fields(
    {
        "newVersion": entities.number,
        "tagsToAdd": SCHEMA_TAGS,
        "tagsToRemove": SCHEMA_TAGS,
        "metadata": entities.METADATA,
        "ruleSet": entities.RULE_SET,
        "rulesToMerge": entities.RULE_SET,
        "rulesToRemove": entities.list_of(entities.text),
    }
)
UPDATE_MODE = fields({"mode": entities.text})

NO_ID = -1


@frozen
class Draft:
    """A schema that is to be registered or found. `version`: 0 for whichever is next, -1 for that and telling
    it in the metadata. `id`: -1 for one that the registry gives."""

    content: Content
    version: int = 0
    id: int = NO_ID
    tags_to_add: tuple[JsonObject, ...] = ()
    tags_to_remove: tuple[JsonObject, ...] = ()
    propagates_tags: bool = False

    def with_content(self, content: Content) -> Draft:
        return replace(self, content=content)

    @classmethod
    def from_json(cls, found: JsonObject) -> Draft:
        """`found`: as REGISTER reads it."""
        content = Content(
            found.get("schema", ""),
            found.get("schemaType", "AVRO"),
            tuple(found.get("references", ())),
            found.get("metadata"),
            found.get("ruleSet"),
        )
        return cls(
            content,
            found.get("version", 0),
            found.get("id", NO_ID),
            tuple(found.get("schemaTagsToAdd", ())),
            tuple(found.get("schemaTagsToRemove", ())),
            bool(found.get("propagateSchemaTags")),
        )
