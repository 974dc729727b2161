//go:build linux

package confine

import (
	"context"
	"net"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func socket(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func pair(domain, kind int) ([2]int, error) {
	return unix.Socketpair(domain, kind|unix.SOCK_CLOEXEC, 0)
}

const optional = "the protocol is not in every kernel"

var networkProbes = []probe{
	{name: "tcp", free: "ok", held: "EACCES", try: func(string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, 0) }},
	{name: "tcp6", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_INET6, unix.SOCK_STREAM, 0) }},
	{name: "mptcp", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) }},
	{name: "sctp", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP) }},
	{name: "udp", free: "ok", held: "EACCES", try: func(string) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, 0) }},
	{name: "udp6", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_INET6, unix.SOCK_DGRAM, 0) }},
	{name: "raw-ip", free: "ok", held: "EACCES", root: true, try: func(string) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{name: "ping", why: "the group range of ping sockets is the administrator's", held: "EACCES", try: func(string) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }},
	{name: "dns", why: "there may be no name server", held: "EACCES", try: func(string) error {
		r := net.Resolver{PreferGo: true}
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		_, err := r.LookupHost(ctx, "name.invalid")
		if err != nil && strings.Contains(err.Error(), "socket: "+unix.EACCES.Error()) {
			return unix.EACCES // a look-up error holds no more than the text of its cause
		}
		return err
	}},
	{name: "unix-path", free: "ok", held: "EACCES", try: func(root string) error { return dialUnix(root + "/rw/socket") }},
	{name: "unix-abstract", free: "ok", held: "EACCES", try: func(string) error { return dialUnix("@" + os.Getenv("AEGIS_PROBE_ABSTRACT")) }},
	{name: "unix-datagram", free: "ok", held: "EACCES", try: func(string) error { return socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0) }},
	{name: "netlink", free: "ok", held: "EACCES", try: func(string) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
	{name: "packet", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{name: "vsock", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{name: "bluetooth", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 0) }},
	{name: "kernel-crypto", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{name: "xdp", why: optional, held: "EACCES", try: func(string) error { return socket(unix.AF_XDP, unix.SOCK_RAW, 0) }},
	{name: "domain-beyond-32-bits", free: "ok", held: "EACCES", try: func(string) error {
		return call(unix.SYS_SOCKET, 1<<32|unix.AF_INET, unix.SOCK_STREAM, 0)
	}},
	{name: "datagram-pair", free: "ok", held: "EACCES", try: func(string) error { _, err := pair(unix.AF_UNIX, unix.SOCK_DGRAM); return err }},
	{name: "raw-pair", free: "ok", held: "EACCES", try: func(string) error { _, err := pair(unix.AF_UNIX, unix.SOCK_RAW); return err }},
	{name: "tipc-pair", why: optional, held: "EACCES", try: func(string) error { _, err := pair(unix.AF_TIPC, unix.SOCK_STREAM); return err }},
	{name: "connect-pair", free: "EISCONN", held: "EACCES", try: func(root string) error {
		fds, err := pair(unix.AF_UNIX, unix.SOCK_STREAM)
		if err != nil {
			return err
		}
		return unix.Connect(fds[0], &unix.SockaddrUnix{Name: root + "/rw/socket"})
	}},
	{name: "bind-pair", free: "ok", held: "EACCES", try: func(root string) error {
		fds, err := pair(unix.AF_UNIX, unix.SOCK_STREAM)
		if err != nil {
			return err
		}
		return unix.Bind(fds[0], &unix.SockaddrUnix{Name: root + "/rw/bound"})
	}},
	{name: "listen-pair", free: "EINVAL", held: "EACCES", try: func(string) error {
		fds, err := pair(unix.AF_UNIX, unix.SOCK_STREAM)
		if err != nil {
			return err
		}
		return unix.Listen(fds[0], 1)
	}},
	{name: "send-to-from-pair", free: "EISCONN", held: "EISCONN", try: func(root string) error {
		fds, err := pair(unix.AF_UNIX, unix.SOCK_STREAM)
		if err != nil {
			return err
		}
		return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: root + "/rw/socket"})
	}},
	{name: "io-uring", why: "a system may switch it off", held: "ENOSYS", try: func(string) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{name: "io-uring-enter", why: "kernels differ in the error", held: "ENOSYS", try: func(string) error { return call(unix.SYS_IO_URING_ENTER, ^uintptr(0)) }},
	{name: "io-uring-register", why: "kernels differ in the error", held: "ENOSYS", try: func(string) error { return call(unix.SYS_IO_URING_REGISTER, ^uintptr(0)) }},
}

func dialUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}
