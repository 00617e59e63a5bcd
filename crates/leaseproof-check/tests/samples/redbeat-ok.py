beat_max_loop_interval = 5
redbeat_redis_url = "redis://localhost:6379/1"
redbeat_lock_timeout = beat_max_loop_interval * 5  # seconds
