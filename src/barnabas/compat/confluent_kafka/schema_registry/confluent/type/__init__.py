"""Types that Protobuf does not have."""
