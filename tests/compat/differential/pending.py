"""Scripts that are not compared yet, since what they need of ours is not there or differs."""

PENDING: frozenset[str] = frozenset(
    {
        "json_is_written_and_read_alike",
        "json_is_written_and_read_by_asyncio_alike",
        "json_is_written_with_the_schema_that_is_chosen",
        "json_with_references_is_written_and_read_alike",
        "rules_of_json_run_alike",
        "serializers_of_json_refuse_what_they_cannot_use",
    }
)
