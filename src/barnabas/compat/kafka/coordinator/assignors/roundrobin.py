"""tmp"""


class RoundRobinPartitionAssignor:
    """tmp"""

    name = "roundrobin"
