//! Catalog, app files and transports against real peers on loopback.
