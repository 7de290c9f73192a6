"""Scripts that are not compared yet, since what they need of ours is not there or differs."""

PENDING: dict[str, frozenset[str]] = {
    "errors_are_shown_with_their_codes_and_descriptions": frozenset({"1.2", "2", "3"}),
    "every_error_of_a_code_is_found_by_it": frozenset({"1.2", "2", "3"}),
    "offsets_with_metadata_are_named_tuples_of_two": frozenset({"1.2"}),
    "offsets_with_metadata_know_an_epoch": frozenset({"2", "3"}),
    "topic_partitions_are_named_tuples": frozenset({"1.2", "2", "3"}),
}
"""By a script's name, the generations on which it is not."""
