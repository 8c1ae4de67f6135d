"""PostgreSQL: asyncpg on the storage loop, and what SQLAlchemy is needed for."""
