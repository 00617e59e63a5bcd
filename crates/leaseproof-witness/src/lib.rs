//! The protected resource that leaseproof brings: records each write in its own serial order.
