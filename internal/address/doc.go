// Package address reads hosts and knows the addresses that a call made on
// somebody's behalf must not reach: the machine itself, the networks around it
// and the services in which clouds keep their credentials.
//
// It asks no resolver. A name stays a name; what a resolver would make of a
// numeric spelling is worked out here, since that needs no network.
package address
