package confine

// basePath is a file that most programs expect, whatever they do.
type basePath struct {
	path   string
	rights Rights
	why    string
}

const (
	whyDevice  = "device that programs expect"
	whyNames   = "names of users and hosts"
	whyCerts   = "certificates"
	whyLocale  = "time zone and language"
	whyMachine = "what the machine is"
	whyLoader  = "the loader's index"
)

// baseFiles are granted with every closure, those of them that exist. Each is a
// single file or a tree that holds nothing private. Directories of /dev and /proc
// are not among them, but the server's own in /proc.
var baseFiles = []basePath{
	{"/dev/null", Read | Write, whyDevice},
	{"/dev/zero", Read | Write, whyDevice},
	{"/dev/full", Read | Write, whyDevice},
	{"/dev/random", Read | Write, whyDevice},
	{"/dev/urandom", Read | Write, whyDevice},
	// Not to read: in aegis's process group, which it may join, the server would
	// have what is typed.
	{"/dev/tty", Write, whyDevice},
	{"/etc/ld.so.cache", Read, whyLoader},
	{"/etc/ld-musl-x86_64.path", Read, whyLoader},
	{"/etc/ld-musl-aarch64.path", Read, whyLoader},
	{"/etc/nsswitch.conf", Read, whyNames},
	{"/etc/passwd", Read, whyNames},
	{"/etc/group", Read, whyNames},
	{"/etc/hosts", Read, whyNames},
	{"/etc/host.conf", Read, whyNames},
	{"/etc/resolv.conf", Read, whyNames},
	{"/etc/gai.conf", Read, whyNames},
	{"/etc/protocols", Read, whyNames},
	{"/etc/services", Read, whyNames},
	{"/etc/mime.types", Read, whyNames},
	{"/etc/localtime", Read, whyLocale},
	{"/etc/timezone", Read, whyLocale},
	{"/usr/share/zoneinfo", Read, whyLocale},
	{"/usr/lib/locale", Read, whyLocale},
	{"/usr/share/locale", Read, whyLocale},
	{"/usr/lib/x86_64-linux-gnu/gconv", Read, whyLocale},
	{"/usr/lib/aarch64-linux-gnu/gconv", Read, whyLocale},
	{"/etc/ssl/certs", Read, whyCerts},
	{"/etc/ssl/openssl.cnf", Read, whyCerts},
	{"/etc/pki/tls/certs", Read, whyCerts},
	{"/etc/pki/ca-trust/extracted", Read, whyCerts},
	{"/usr/share/ca-certificates", Read, whyCerts},
	{procSelf, Read, "the server's own directory of /proc"},
	{"/proc/cpuinfo", Read, whyMachine},
	{"/proc/meminfo", Read, whyMachine},
	{"/proc/stat", Read, whyMachine},
	{"/proc/filesystems", Read, whyMachine},
	{"/proc/version", Read, whyMachine},
	{"/proc/sys/vm/overcommit_memory", Read, whyMachine},
	{"/sys/devices/system/cpu", Read, whyMachine},
	{"/sys/kernel/mm/transparent_hugepage", Read, whyMachine},
}

// base grants the base files.
func (c *closure) base() {
	for _, f := range baseFiles {
		// One that is not on this machine is not missed.
		_ = c.grants.add(f.path, f.rights, f.why)
	}
}
