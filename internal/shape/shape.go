package shape

import "math/bits"

// Shape is one kind of effect a tool can have.
type Shape uint8

// The five shapes, in the order of All.
const (
	FilesystemWrite Shape = iota
	FilesystemRead
	ShellExec
	HTTPRequest
	SQLQuery

	count = iota
)

// spellings are a shape's names in a policy file, in a lock and in a record.
var spellings = [count]struct{ key, capability, axis string }{
	FilesystemWrite: {"filesystem_write", "fs-write", "fs.write"},
	FilesystemRead:  {"filesystem_read", "fs-read", "fs.read"},
	ShellExec:       {"shell_exec", "shell-exec", "exec"},
	HTTPRequest:     {"http_request", "http-request", "net"},
	SQLQuery:        {"sql_query", "sql-query", "sql"},
}

// All is every shape.
func All() []Shape {
	return []Shape{FilesystemWrite, FilesystemRead, ShellExec, HTTPRequest, SQLQuery}
}

// Key is the shape's name in a policy file, such as filesystem_write.
func (s Shape) Key() string { return spellings[s].key }

// Capability is the shape's name in a lock, such as fs-write.
func (s Shape) Capability() string { return spellings[s].capability }

// Axis is the shape's name in a record's derived parameters, such as fs.write.
func (s Shape) Axis() string { return spellings[s].axis }

// String is the policy file's name.
func (s Shape) String() string { return s.Key() }

// ByKey is the shape a policy file calls key.
func ByKey(key string) (Shape, bool) {
	for s, names := range spellings {
		if names.key == key {
			return Shape(s), true
		}
	}
	return 0, false
}

// ByCapability is the shape a lock calls capability.
func ByCapability(capability string) (Shape, bool) {
	for s, names := range spellings {
		if names.capability == capability {
			return Shape(s), true
		}
	}
	return 0, false
}

// ByAxis is the shape a record calls axis.
func ByAxis(axis string) (Shape, bool) {
	for s, names := range spellings {
		if names.axis == axis {
			return Shape(s), true
		}
	}
	return 0, false
}

// Set is a set of shapes. The zero Set is empty.
type Set uint8

// Has reports whether s is in the set.
func (set Set) Has(s Shape) bool { return set&(1<<s) != 0 }

// With is the set and s.
func (set Set) With(s Shape) Set { return set | 1<<s }

// Shapes are the members, in the order of All; nil if there are none.
func (set Set) Shapes() []Shape {
	if set == 0 {
		return nil
	}
	members := make([]Shape, 0, bits.OnesCount8(uint8(set)))
	for s := range Shape(count) {
		if set.Has(s) {
			members = append(members, s)
		}
	}
	return members
}
