package address

import "net/netip"

// services are the addresses at which clouds hand credentials to whoever asks
// from inside a machine.
var services = []netip.Addr{
	// AWS EC2 ("Access instance metadata for an EC2 instance"); the same IPv4
	// address at Azure, Google Cloud, Oracle Cloud, DigitalOcean, OpenStack,
	// Hetzner and IBM.
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("fd00:ec2::254"),
	// AWS ECS ("Amazon ECS task IAM role").
	netip.MustParseAddr("169.254.170.2"),
	// AWS EKS ("Set up the Amazon EKS Pod Identity Agent").
	netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("fd00:ec2::23"),
	// Google Cloud, machines with IPv6 only ("Query VM metadata").
	netip.MustParseAddr("fd20:ce::254"),
	// Azure's platform channel, WireServer ("What is IP address 168.63.129.16?").
	netip.MustParseAddr("168.63.129.16"),
	// Oracle Cloud over IPv6 (its SDK's instance principals signer), and its
	// Classic ("Retrieve Predefined Instance Metadata").
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"),
	netip.MustParseAddr("192.0.0.192"),
	// OpenStack over IPv6 (Neutron's metadata service).
	netip.MustParseAddr("fe80::a9fe:a9fe"),
	// Akamai, formerly Linode ("Metadata service API").
	netip.MustParseAddr("fd00:a9fe:a9fe::1"),
	// Alibaba Cloud ECS ("Instance metadata").
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("fd00:100::100:200"),
	// Tencent Cloud CVM ("Instance metadata", metadata.tencentyun.com).
	netip.MustParseAddr("169.254.0.23"),
	netip.MustParseAddr("169.254.10.10"),
	// Scaleway (cloud-init's Scaleway data source).
	netip.MustParseAddr("169.254.42.42"),
	netip.MustParseAddr("fd00:42::42"),
}

// Metadata reports whether a is the address of a cloud's metadata or credential
// service, or an IPv6 address that carries one. No policy opens these: there is
// no call by an agent for which they are the right place.
func Metadata(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	_, ok := metadataService(a.WithZone(""))
	return ok
}

// metadataService is the service that a, which has no zone, reaches.
func metadataService(a netip.Addr) (netip.Addr, bool) {
	if isService(a) {
		return a, true
	}
	if a.Is4() {
		return netip.Addr{}, false
	}
	var buf [maxCarried]netip.Addr
	for _, v4 := range appendCarried(buf[:0], a) {
		if isService(v4) {
			return v4, true
		}
	}
	return netip.Addr{}, false
}

func isService(a netip.Addr) bool {
	for _, s := range services {
		if s == a {
			return true
		}
	}
	return false
}
