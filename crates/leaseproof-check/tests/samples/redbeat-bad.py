redbeat_redis_url = "redis://localhost:6379/1"
redbeat_lock_timeout = 60
