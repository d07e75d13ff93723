// Package child starts, marks, finds and ends the OS processes of the house.
//
// It is a library, not an actor: the hosts of the sidecar, of engines, of MCP
// servers and of terminals use it, and so do the workspace tools.
//
// What it promises:
//
//   - A command started by [Start] runs in a process group (or session) of its
//     own. Its environment is the explicit list that the caller gave, plus three
//     markers: PACKETBENCH_BOOT_ID, PACKETBENCH_HOME and PACKETBENCH_GROUP.
//   - [Group.Kill] ends everything that the command started: the process group
//     at once, and on systems where the environment of a process can be read
//     also what left the group but still carries its marker.
//   - A group that is handed to [Registry.Register] is written to a small file
//     below the data directory until it is released, so that [SweepOrphans] can
//     end it at the next start when the service itself was ended by SIGKILL.
//   - Nothing foreign is ended. A process is signalled only after its marker and
//     its start time were compared, through a handle that cannot be reused where
//     the system has one (pidfd on Linux).
//
// What differs by system:
//
//	          own group           members found by            after a killed service
//	linux     setpgid or setsid   /proc stat and environ      environ, and recorded groups
//	darwin    setpgid or setsid   ps with environments        ps, and recorded groups
//	windows   job object          the job                     the job ends with its last handle
//
// On Windows the child joins its job directly after it was created, so what it
// starts in its first instants may stay outside; taskkill /T covers that part
// while the parent is alive.
//
// The pure parts have no process in them: [Splitter] cuts a byte stream into
// lines with a limit, [RuneHold] keeps back an incomplete character, [Tail] keeps
// the last bytes. [ActAsInit] lets the program be process 1 of a container.
//
// Source of the rules: actors.md section 4 (child process), faults.md B and
// F01, F67, F68, F70.
package child
