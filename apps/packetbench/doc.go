// Command packetbench is the PacketBench service and its command line.
//
// It is the only code that reads flags and environment, opens ports and builds
// the node. boot.go starts the four applications in order and stops them in the
// reverse one; the cmd_*.go files are thin clients of the same doors that the
// page uses. Source: interface.md 2, actors.md 7.
package main
