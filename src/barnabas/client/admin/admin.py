"""The asyncio Admin. Its calls are in one module for each subject; this puts them together."""

from __future__ import annotations

from barnabas.client.admin.acls import AclAdmin
from barnabas.client.admin.cluster import ClusterAdmin
from barnabas.client.admin.configs import ConfigAdmin
from barnabas.client.admin.credentials import CredentialAdmin
from barnabas.client.admin.group_offsets import GroupOffsetAdmin
from barnabas.client.admin.groups import GroupAdmin
from barnabas.client.admin.replicas import ReplicaAdmin
from barnabas.client.admin.topics import TopicAdmin
from barnabas.client.admin.transactions import TransactionAdmin


class Admin(
    TopicAdmin,
    ConfigAdmin,
    GroupAdmin,
    GroupOffsetAdmin,
    AclAdmin,
    CredentialAdmin,
    ReplicaAdmin,
    TransactionAdmin,
    ClusterAdmin,
):
    """Creates, describes, changes and deletes what is in a cluster. For one event loop, on which it is made;
    used with `async with`, or closed by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.settings.table.AdminConfig`. Every call takes `timeout` in seconds, by
    default default_api_timeout_ms. `bootstrap_controllers`, in place of bootstrap_servers, speaks to the
    controllers of KRaft themselves, also while there is no broker; what only brokers know raises
    UnsupportedEndpointTypeError then.

    One rule holds for all calls that take several items: if all succeed, the result names each of them; if
    any fails, the error of the first that failed is raised, which names it, and the others have been done.
    That error's `outcome` has the result or the error of each item.

    Every call raises: TypeError and MisuseError, before anything is sent, for an argument of a wrong type or
    one that no cluster takes; KafkaTimeoutError, BootstrapError, UnsupportedVersionError where the broker is
    too old for it, and the BrokerError that the broker answered. A node id that the cluster does not have is
    waited for until the time-out, as Java's does: KafkaTimeoutError names it.
    """
