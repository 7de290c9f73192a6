"""The transaction coordinator: transactional ids, their epochs, and how transactions end."""
