"""What balanced consumers stand on: who gets which partition, claims in ZooKeeper, who may consume when."""
