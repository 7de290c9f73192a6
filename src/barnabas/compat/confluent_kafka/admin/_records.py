"""What `AdminClient.delete_records` gives."""


class DeletedRecords:
    """As `low_watermark` the offset of the first record that is left, or will come."""

    def __init__(self, low_watermark: int) -> None:
        self.low_watermark = low_watermark
