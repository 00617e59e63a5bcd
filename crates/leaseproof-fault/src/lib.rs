//! Faults, each confirmed by the kernel and undone by its guard; relays; the warden.
