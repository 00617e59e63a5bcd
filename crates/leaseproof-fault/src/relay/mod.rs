//! The network between an owner and the store.
