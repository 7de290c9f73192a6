"""Share groups (KIP-932): records are lent to members, and come back until somebody accepts them."""
