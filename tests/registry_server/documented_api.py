"""What Confluent's OpenAPI file of 8.3.1 has (core/generated/swagger-ui/schema-registry-api-spec.yaml), as a
table, and what the pages of its documentation say of some calls. Facts only; the sentences are left out."""

from __future__ import annotations

from typing import Any

OPERATIONS = """\
GET /
  |
  |
POST /
  |
  |
POST /associations
  | context dryRun
  | 200 40911 40912 42212
DELETE /associations/resources/{resourceId}
  | resourceType associationType cascadeLifecycle dryRun
  | 200 42212
GET /associations/resources/{resourceId}
  | resourceType associationType lifecycle offset limit
  | 200
PUT /associations/resources/{resourceId}
  | context dryRun
  | 200 40911 40912 42212
GET /associations/resources/{resourceNamespace}/{resourceName}
  | resourceType associationType lifecycle offset limit
  | 200
GET /associations/subjects/{subject}
  | resourceType associationType lifecycle offset limit
  | 200
POST /associations:batch
  | context dryRun
  | 207
POST /compatibility/subjects/{subject}/versions
  | normalize verbose
  | 200 42201 42202 50001
POST /compatibility/subjects/{subject}/versions/{version}
  | normalize verbose
  | 200 40401 40402 42201 42202 50001
DELETE /config
  |
  | 200 50001
GET /config
  | defaultToGlobal
  | 200 50001
PUT /config
  |
  | 200 42203 50001 50003
DELETE /config/{subject}
  |
  | 200 40401 50001
GET /config/{subject}
  | defaultToGlobal
  | 200 40401 50001
PUT /config/{subject}
  |
  | 200 40401 42203 50001 50003
GET /contexts
  | offset limit contextPrefix
  | 200 50001
DELETE /contexts/{context}
  |
  | 204 40401 50001
DELETE /mode
  | recursive
  | 200 42205 50001
GET /mode
  | defaultToGlobal
  | 200 50001
PUT /mode
  | force
  | 200 42204 42205 50001 50003 50004
DELETE /mode/{subject}
  | recursive
  | 200 40401 50001
GET /mode/{subject}
  | defaultToGlobal
  | 200 40401 50001
PUT /mode/{subject}
  | force
  | 200 42204 42205 50001 50003 50004
GET /schemas
  | subjectPrefix aliases deleted latestOnly ruleType resourceType associationType lifecycle offset limit
  | 200 50001
GET /schemas/guids/{guid}
  | format
  | 200 40403 50001
GET /schemas/guids/{guid}/ids
  |
  | 200 40403 50001
GET /schemas/ids/{id}
  | subject format referenceFormat findTags fetchMaxId
  | 200 40403 50001
GET /schemas/ids/{id}/schema
  | subject format
  | 200 40403 50001
GET /schemas/ids/{id}/subjects
  | subject deleted offset limit
  | 200 40403 50001
GET /schemas/ids/{id}/versions
  | subject deleted offset limit
  | 200 40403 50001
GET /schemas/types
  |
  | 200 50001
GET /subjects
  | subjectPrefix offset limit deleted deletedOnly
  | 200 50001
DELETE /subjects/{subject}
  | permanent
  | 200 40401 50001
POST /subjects/{subject}
  | normalize format deleted
  | 200 40401 40403 500
GET /subjects/{subject}/metadata
  | key value format deleted
  | 200 40401 40403 500
GET /subjects/{subject}/versions
  | deleted deletedOnly offset limit
  | 200 40401 50001
POST /subjects/{subject}/versions
  | normalize format
  | 200 409 42201 50001 50002 50003
DELETE /subjects/{subject}/versions/{version}
  | permanent
  | 200 40401 40402 42202 50001
GET /subjects/{subject}/versions/{version}
  | format referenceFormat deleted findTags
  | 200 40401 40402 42202 50001
GET /subjects/{subject}/versions/{version}/referencedby
  | deleted offset limit
  | 200 40401 40402 42202 50001
GET /subjects/{subject}/versions/{version}/schema
  | format deleted
  | 200 40401 40402 42202 50001
POST /subjects/{subject}/versions/{version}/tags
  |
  | 200 409 42201 50001 50002 50003
GET /v1/metadata/deployment
  |
  | 50001
GET /v1/metadata/id
  |
  | 50001
GET /v1/metadata/version
  |
  | 50001
"""
"""Method and path, parameters of the query, and statuses, or the error codes that are told for one."""

CONTENT = ("metadata", "references", "ruleSet", "schema", "schemaType")
REQUEST_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "RegisterSchemaRequest": (
        "POST /subjects/new/versions",
        (*CONTENT, "id", "propagateSchemaTags", "schemaTagsToAdd", "schemaTagsToRemove", "version"),
    ),
    "ConfigUpdateRequest": (
        "PUT /config/s",
        (
            "alias", "aliasForDeks", "compatibility", "compatibilityGroup", "compatibilityPolicy",
            "defaultMetadata", "defaultRuleSet", "normalize", "overrideMetadata", "overrideRuleSet",
            "validateFields", "validateNewSchemas", "validateRules",
        ),
    ),
    "ModeUpdateRequest": ("PUT /mode/s", ("mode",)),
    "TagSchemaRequest": (
        "POST /subjects/s/versions/1/tags",
        ("metadata", "newVersion", "ruleSet", "rulesToMerge", "rulesToRemove", "tagsToAdd", "tagsToRemove"),
    ),
    "AssociationCreateOrUpdateRequest": (
        "POST /associations",
        ("associations", "resourceId", "resourceName", "resourceNamespace", "resourceType"),
    ),
}  # fmt: skip
"""By the name of the entity: a call that takes it, and what may be in it."""

ANSWER_FIELDS: dict[str, tuple[str, ...]] = {
    "GET /schemas/ids/1?subject=s&fetchMaxId=true&findTags=*": (
        *CONTENT, "deleted", "guid", "maxId", "schemaTags", "subject", "ts", "version",
    ),
    "GET /subjects/s/versions/1?findTags=*": (
        *CONTENT, "deleted", "guid", "id", "ruleset", "schemaTags", "subject", "ts", "version",
    ),
    "POST /subjects/s/versions": (*CONTENT, "deleted", "guid", "id", "ts", "version"),
    "GET /config": (
        "alias", "aliasForDeks", "compatibilityGroup", "compatibilityLevel", "compatibilityPolicy",
        "defaultMetadata", "defaultRuleSet", "normalize", "overrideMetadata", "overrideRuleSet",
        "validateFields", "validateNewSchemas", "validateRules",
    ),
    "GET /mode": ("mode",),
    "GET /v1/metadata/id": ("id", "scope"),
    "GET /v1/metadata/version": ("commitId", "version"),
    "GET /v1/metadata/deployment": ("attributes",),
    "GET /subjects/none/versions": ("error_code", "message"),
}  # fmt: skip
"""What may be in an answer."""

STRING = '{"type": "string"}'
TEST = (
    '{"type":"record","name":"test",'
    '"fields":[{"type":"string","name":"field1"},{"type":"int","name":"field2"}]}'
)
LATEST = "/compatibility/subjects/Kafka-value/versions/latest"
KEY = "Kafka-key"
EXAMPLES: list[tuple[str, Any, int, Any]] = [
    # docs.confluent.io, "Schema Registry API Usage Examples".
    (f"POST /subjects/{KEY}/versions", {"schema": STRING}, 200, {"id": 1}),
    ("POST /subjects/Kafka-value/versions", {"schema": STRING}, 200, {"id": 1}),
    ("GET /subjects", None, 200, [KEY, "Kafka-value"]),
    ("GET /schemas/ids/1", None, 200, {"schema": '"string"'}),
    ("GET /subjects/Kafka-value/versions", None, 200, [1]),
    ("GET /subjects/Kafka-value/versions/1", None, 200, {
        "subject": "Kafka-value", "version": 1, "id": 1, "schema": '"string"',
    }),
    ("GET /subjects/Kafka-value/versions/1/schema", None, 200, "string"),
    ("DELETE /subjects/Kafka-value/versions/1", None, 200, 1),
    ("POST /subjects/Kafka-value/versions", {"schema": STRING}, 200, {"id": 1}),
    ("DELETE /subjects/Kafka-value/versions/latest", None, 200, 2),
    ("POST /subjects/Kafka-value/versions", {"schema": STRING}, 200, {"id": 1}),
    (f"POST /subjects/{KEY}", {"schema": STRING}, 200, {
        "subject": KEY, "version": 1, "id": 1, "schema": '"string"',
    }),
    (f"POST {LATEST}", {"schema": STRING}, 200, {"is_compatible": True}),
    ("GET /config", None, 200, {"compatibilityLevel": "BACKWARD"}),
    ("PUT /config", {"compatibility": "NONE"}, 200, {"compatibility": "NONE"}),
    ("PUT /config/Kafka-value", {"compatibility": "BACKWARD"}, 200, {"compatibility": "BACKWARD"}),
    ("DELETE /config/Kafka-value", None, 200, {"compatibilityLevel": "BACKWARD"}),
    ("DELETE /config", None, 200, {"compatibilityLevel": "NONE"}),
    ("DELETE /subjects/Kafka-value", None, 200, [3]),
    ("GET /schemas/types", None, 200, ["JSON", "PROTOBUF", "AVRO"]),
    # "Schema Registry API Reference".
    ("POST /subjects/test/versions", {"schema": TEST, "schemaType": "AVRO"}, 200, {"id": 2}),
    ("GET /subjects/test/versions/1", None, 200, {"subject": "test", "version": 1, "id": 2}),
    ("POST /subjects/test", {"schema": TEST}, 200, {"subject": "test", "id": 2, "version": 1}),
    ("GET /schemas/ids/2/versions", None, 200, [{"subject": "test", "version": 1}]),
    ("GET /schemas/ids/2/subjects", None, 200, ["test"]),
    ("GET /subjects/test/versions/1/referencedby", None, 200, []),
    ("POST /compatibility/subjects/test/versions/latest", {"schema": TEST}, 200, {"is_compatible": True}),
    ("PUT /mode", {"mode": "READONLY"}, 200, {"mode": "READONLY"}),
    ("GET /mode", None, 200, {"mode": "READONLY"}),
    ("PUT /mode", {"mode": "READWRITE"}, 200, {"mode": "READWRITE"}),
    ("PUT /mode/test", {"mode": "READONLY"}, 200, {"mode": "READONLY"}),
    ("GET /mode/test", None, 200, {"mode": "READONLY"}),
    ("DELETE /mode/test", None, 200, {"mode": "READONLY"}),
    ("PUT /config/test", {"compatibility": "FULL"}, 200, {"compatibility": "FULL"}),
    ("GET /config/test", None, 200, {"compatibilityLevel": "FULL"}),
    ("GET /config/test?defaultToGlobal=true", None, 200, {"compatibilityLevel": "FULL"}),
    ("DELETE /subjects/test/versions/1", None, 200, 1),
    ("DELETE /subjects/test/versions/1?permanent=true", None, 200, 1),
    ("GET /contexts", None, 200, ["."]),
    ("GET /subjects/test/versions", None, 404, {"error_code": 40401}),
    ("GET /schemas/ids/99", None, 404, {"error_code": 40403}),
    (f"GET /subjects/{KEY}/versions/0", None, 422, {"error_code": 42202}),
    ("PUT /config", {"compatibility": "SIDEWAYS"}, 422, {"error_code": 42203}),
]  # fmt: skip
"""Calls, one after the other, with what the pages print as their answer; newer registries have added fields
to objects."""
