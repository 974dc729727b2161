//go:build linux && (amd64 || arm64)

package confine

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// machine runs the filter of a profile in a BPF machine of its own.
type machine struct{ vm *bpf.VM }

func machineOf(t *testing.T, p *profile) machine {
	t.Helper()
	var code []bpf.Instruction
	for _, i := range p.filter() {
		code = append(code, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K}.Disassemble())
	}
	vm, err := bpf.NewVM(code) // refuses jumps out of the program
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm}
}

// answer is what the filter says to a call. The machine reads words as big-endian,
// the kernel as it has them: the low half of an argument comes first there.
func (m machine) answer(t interface{ Fatal(...any) }, arch, number uint32, args ...uint64) uint32 {
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], number)
	binary.BigEndian.PutUint32(data[offsetMachine:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	n, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func TestFilterAnswers(t *testing.T) {
	plain, kill := machineOf(t, &profile{}), machineOf(t, &profile{Kill: true})
	const high = 1 << 32
	for _, c := range []struct {
		name       string
		number     uint32
		args       []uint64
		want       uint32
		wantKilled uint32 // 0: the same
	}{
		{"read", unix.SYS_READ, nil, answerAllow, 0},
		{"execve", unix.SYS_EXECVE, nil, answerAllow, 0},
		{"socket inet", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, answerDenied, answerKill},
		{"socket inet, high bits", unix.SYS_SOCKET, []uint64{high | unix.AF_INET}, answerDenied, answerKill},
		{"socket unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, answerDenied, 0},
		{"socket unix, high bits", unix.SYS_SOCKET, []uint64{high | unix.AF_UNIX}, answerDenied, 0},
		{"socketpair stream", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, answerAllow, 0},
		{"socketpair stream with flags", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, answerAllow, 0},
		{"socketpair seqpacket", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, answerAllow, 0},
		{"socketpair datagram", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, answerDenied, 0},
		{"socketpair raw", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, answerDenied, 0},
		{"socketpair tipc", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, answerDenied, 0},
		{"connect", unix.SYS_CONNECT, nil, answerDenied, 0},
		{"bind", unix.SYS_BIND, nil, answerDenied, 0},
		{"listen", unix.SYS_LISTEN, nil, answerDenied, 0},
		{"accept", unix.SYS_ACCEPT, nil, answerDenied, 0},
		{"accept4", unix.SYS_ACCEPT4, nil, answerDenied, 0},
		{"sendmsg", unix.SYS_SENDMSG, nil, answerAllow, 0},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, answerMissing, 0},
		{"io_uring_enter", unix.SYS_IO_URING_ENTER, nil, answerMissing, 0},
		{"io_uring_register", unix.SYS_IO_URING_REGISTER, nil, answerMissing, 0},
		{"clone3", unix.SYS_CLONE3, nil, answerMissing, 0},
		{"clone thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, answerAllow, 0},
		{"clone user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWNET}, answerPerm, 0},
		{"unshare files", unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, answerAllow, 0},
		{"unshare user namespace", unix.SYS_UNSHARE, []uint64{high | unix.CLONE_NEWUSER | unix.CLONE_NEWNS}, answerPerm, 0},
		{"setns", unix.SYS_SETNS, []uint64{3, 0}, answerPerm, 0},
		{"mq_open", unix.SYS_MQ_OPEN, nil, answerDenied, 0},
		{"mq_unlink", unix.SYS_MQ_UNLINK, nil, answerDenied, 0},
		{"ptrace by the parent", unix.SYS_PTRACE, []uint64{unix.PTRACE_TRACEME}, answerPerm, 0},
		{"ptrace of a child", unix.SYS_PTRACE, []uint64{unix.PTRACE_SEIZE, 2}, answerAllow, 0},
		{"ioctl TCGETS", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, answerAllow, 0},
		{"ioctl TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, answerPerm, 0},
		{"ioctl TIOCSTI, high bits", unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, answerPerm, 0},
		{"ioctl TIOCLINUX", unix.SYS_IOCTL, []uint64{0, tioclinux}, answerPerm, 0},
		{"prlimit self", unix.SYS_PRLIMIT64, []uint64{0}, answerAllow, 0},
		{"prlimit other", unix.SYS_PRLIMIT64, []uint64{1}, answerPerm, 0},
	} {
		killed := c.wantKilled
		if killed == 0 {
			killed = c.want
		}
		if got := plain.answer(t, auditMachine, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, not %#x", c.name, got, c.want)
		}
		if got := kill.answer(t, auditMachine, c.number, c.args...); got != killed {
			t.Errorf("%s, --confine-kill: %#x, not %#x", c.name, got, killed)
		}
	}
}

// Another machine's numbers are killed whatever they are, and calls that the
// filter does not name pass whatever their arguments.
func TestFilterDefaults(t *testing.T) {
	named := map[uint32]bool{
		unix.SYS_SOCKET: true, unix.SYS_SOCKETPAIR: true, unix.SYS_CONNECT: true, unix.SYS_BIND: true, unix.SYS_LISTEN: true,
		unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true, unix.SYS_IO_URING_SETUP: true, unix.SYS_IO_URING_ENTER: true,
		unix.SYS_IO_URING_REGISTER: true, unix.SYS_CLONE3: true, unix.SYS_CLONE: true, unix.SYS_UNSHARE: true, unix.SYS_IOCTL: true,
		unix.SYS_PRLIMIT64: true, unix.SYS_SETNS: true, unix.SYS_MQ_OPEN: true, unix.SYS_MQ_UNLINK: true, unix.SYS_PTRACE: true,
	}
	for _, p := range []*profile{{}, {Kill: true}} {
		m := machineOf(t, p)
		rapid.Check(t, func(t *rapid.T) {
			number := uint32(rapid.IntRange(0, 1000).Draw(t, "number"))
			args := rapid.SliceOfN(rapid.Uint64(), 6, 6).Draw(t, "args")
			if got := m.answer(t, auditMachine, number, args...); !named[number] && got != answerAllow {
				t.Fatalf("call %d: %#x", number, got)
			}
			arch := rapid.Uint32().Filter(func(a uint32) bool { return a != auditMachine }).Draw(t, "arch")
			if got := m.answer(t, arch, number, args...); got != answerKill {
				t.Fatalf("machine %#x: %#x", arch, got)
			}
			if firstForeign != 0 {
				if got := m.answer(t, auditMachine, firstForeign|number, args...); got != answerKill {
					t.Fatalf("foreign %d: %#x", number, got)
				}
			}
		})
	}
}

// A rule on a file holds no right of directories, and no rule more than its
// grant.
func TestAccessBits(t *testing.T) {
	if got := access(Read|Write|Execute|Ioctl, false); got&^fsOfFile != 0 {
		t.Errorf("a file would get %#x", got&^fsOfFile)
	}
	for _, directory := range []bool{false, true} {
		if got := access(Read, directory); got&(fsWrite|unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV) != 0 {
			t.Errorf("read would give %#x", got)
		}
		if got := access(Read|Write, directory); got&(unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV) != 0 {
			t.Errorf("write would give %#x", got)
		}
		if got := access(Read|Write|Execute|Ioctl, directory); got&(unix.LANDLOCK_ACCESS_FS_MAKE_CHAR|unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK|unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX) != 0 {
			t.Errorf("what nothing grants is granted: %#x", got)
		}
	}
	// Every right that a kernel knows is handled there, so that a new one is denied.
	for abi, want := range map[int]uint64{0: 0, 1: 1<<13 - 1, 2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 8: 1<<16 - 1, 9: 1<<17 - 1, 20: 1<<17 - 1} {
		if got := fsHandled(abi); got != want {
			t.Errorf("ABI %d handles %#x", abi, got)
		}
	}
}

func TestProfileIsCarried(t *testing.T) {
	p := profile{Program: "/bin/true", Kill: true, BestEffort: true, ReportFD: 7, Grants: []Grant{{Path: "/a \"b\"\n", Tree: true, Rights: Read | Write, Why: "why"}}}
	text, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeProfile(text)
	if err != nil || got.Program != p.Program || !got.Kill || !got.BestEffort || got.ReportFD != 7 || len(got.Grants) != 1 || got.Grants[0].Path != p.Grants[0].Path || got.Grants[0].Rights != Read|Write {
		t.Errorf("%+v %v", got, err)
	}
	for _, text := range []string{"", "{}x", `{"program":"/x","unknown":1}`, `{"grants":[{"rights":"all"}]}`} {
		if _, err := decodeProfile(text); err == nil {
			t.Errorf("%q is a profile", text)
		}
	}
	for range 4000 {
		p.Grants = append(p.Grants, Grant{Path: "/a/path/of/ordinary/length", Rights: Read})
	}
	if _, err := p.encode(); err == nil {
		t.Error("a profile that no environment holds is encoded")
	}
}
