package lock

const childArg = "-lock-test-server"

var servers = map[string]func() int{}
