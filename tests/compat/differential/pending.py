"""Scripts that are not compared yet, since what they need of ours is not there or differs."""

PENDING: frozenset[str] = frozenset(
    {
        "a_share_consumers_token_is_asked_for_again_before_it_ends",
    }
)
