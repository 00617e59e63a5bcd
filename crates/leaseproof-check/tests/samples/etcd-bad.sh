etcdctl lock --ttl=2 jobs/nightly -- ./worker
