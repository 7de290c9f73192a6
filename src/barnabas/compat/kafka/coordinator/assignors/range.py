"""tmp"""


class RangePartitionAssignor:
    """tmp"""

    name = "range"
