package bus

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

const (
	// maxMessageBytes is the server's limit of one message. Source:
	// real-parts.md 1.
	maxMessageBytes = config.MaxFrameBytes
	// streamsMost is the server's own limit of all streams, in bytes. The stream
	// holds itself to its MaxBytes; what counts here is what it was once made
	// with, which may be far above what is configured now.
	streamsMost = 1 << 50
	// startMost is how long a server may take to be ready; recovering a full
	// log takes about a second.
	startMost = 8 * time.Second
	// The names of the users. Source: interface.md 3.
	userOwner   = "owner"
	userMonitor = "monitor"
	userBus     = "bus"
)

// Login is one user of the NATS server.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// Logins are the two users that clients may be given. They are secrets: made
// at each start of the service, written to run.json only.
type Logins struct{ Owner, Monitor Login }

// NewLogins makes new passwords.
func NewLogins() Logins {
	return Logins{Owner: Login{userOwner, password()}, Monitor: Login{userMonitor, password()}}
}

func password() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails, see its documentation
	return base64.RawURLEncoding.EncodeToString(b)
}

// ServerOptions say how the embedded server is started.
type ServerOptions struct {
	// Addr is host:port on loopback; port 0 lets the system choose.
	Addr string
	// NoListen serves in-process connections only.
	NoListen bool
	// Dir is the folder of the event log, config.Paths.Events().
	Dir string
	// Logins may be empty with NoListen.
	Logins Logins
	// MaxBytes and MaxAge limit the log; the oldest events go first.
	MaxBytes int64
	MaxAge   time.Duration
	Logger   *slog.Logger
	// suspect says why the folder is to be set aside before the start: the run
	// before found it damaged. Empty when it did not.
	suspect string
}

// PortBusyError says that another program uses the address of a door.
type PortBusyError struct {
	Addr string
	Flag string
}

// Error says what to do.
func (e *PortBusyError) Error() string {
	return fmt.Sprintf("The address %s is in use by another program. Stop it, or start PacketBench with %s and another port (0 lets the system choose).", e.Addr, e.Flag)
}

// consumerAPI is what an ordered consumer needs, for both roles. Source:
// real-parts.md 1.
var consumerAPI = []string{
	"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.NAMES",
	"$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.FC.>",
}

// monitorCalls are the ten methods a monitor may publish. Source: interface.md
// 3; get_session is not among them, a NATS client knows its role.
func monitorCalls() []string {
	var out []string
	for _, m := range contract.MonitorMethods {
		if m != contract.MethodSession {
			out = append(out, contract.CommandSubject(m))
		}
	}
	return out
}

// serving is a running server.
type serving struct {
	srv  *server.Server
	nc   *nats.Conn
	addr string // empty without a listener
	dir  string
	slot chan struct{}
	quit sync.Once
	// last is the number of the last event that is stored for certain, noted in
	// the folder at the end; 0 when that is not known.
	last atomic.Uint64
}

// start starts a server for the Log, which proves that its log works. One that
// does not is set aside, once in a row. It waits for the files of a server
// before it. Its errors are sentences; a used address is a *PortBusyError, a log
// that fails again right after the last was set aside a *DamagedError.
func start(ctx context.Context, o ServerOptions, l *Log) (_ *serving, err error) {
	slot := l.slot
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return nil, errors.New("The event log of the server before this one is still closing. Try again.")
	}
	defer func() {
		if err != nil {
			<-slot
		}
	}()
	// While the service runs the Log itself knows what was confirmed, and
	// stores again what a failing disk lost.
	least := uint64(0)
	if l.baseNow() == 0 {
		least = readHead(o.Dir)
	}
	bad := &damage{reason: o.suspect}
	if bad.reason == "" {
		s, err := open(o, slot, least)
		if !errors.As(err, &bad) {
			return s, err
		}
	}
	if err := diskTakes(o.Dir); err != nil {
		return nil, fmt.Errorf("The event log cannot be opened, and the disk of its folder %s does not take what is written: %w. Free some space or check the disk.", o.Dir, err)
	}
	if !l.setAside.CompareAndSwap(false, true) {
		return nil, &DamagedError{Dir: o.Dir, Reason: bad.reason}
	}
	kept, err := setAside(o.Dir, time.Now())
	if err != nil {
		return nil, &DamagedError{Dir: o.Dir, Reason: bad.reason + "; " + err.Error()}
	}
	o.Logger.Error("The event log was damaged and is not used any more. Its folder was kept as "+kept+", and an empty log was started; conversations are not affected. Delete that folder when nobody needs it.",
		"reason", bad.reason)
	s, err := open(o, slot, 0)
	if errors.As(err, &bad) {
		return nil, &DamagedError{Dir: o.Dir, Reason: bad.reason}
	}
	if err != nil {
		return nil, err
	}
	if err := s.numberFrom(least); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// open starts a server on the folder as it is. A *damage says that its log does
// not work; least is the last number it must have.
func open(o ServerOptions, slot chan struct{}, least uint64) (*serving, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("The folder of the event log cannot be made: %w. Check its permissions.", err)
	}
	own := password()
	opts, err := serverOptions(o, own)
	if err != nil {
		return nil, err
	}
	if !o.NoListen {
		if err := portFree(o.Addr); err != nil {
			return nil, err
		}
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("The event log cannot be set up: %w.", err)
	}
	log := &serverLog{log: o.Logger, fatal: make(chan string, 1)}
	srv.SetLoggerV2(log, false, false, false)
	ready := make(chan bool, 1)
	go func() {
		srv.Start()
		ready <- comesUp(srv)
	}()
	stop := func() { srv.Shutdown(); srv.WaitForShutdown() }
	select {
	case ok := <-ready:
		if !ok {
			stop()
			if reason := log.lastFatal(); strings.Contains(reason, "listening on port") {
				return nil, &PortBusyError{Addr: o.Addr, Flag: "--nats-addr"}
			}
			return nil, errors.New("The event log did not become ready in time. The disk may be slow or stuck; try again.")
		}
	case reason := <-log.fatal:
		stop()
		if strings.Contains(reason, "listening on port") {
			return nil, &PortBusyError{Addr: o.Addr, Flag: "--nats-addr"}
		}
		return nil, fmt.Errorf("The event log cannot start: %s.", reason)
	}
	if !srv.JetStreamEnabled() {
		stop()
		return nil, fmt.Errorf("The event log cannot use its folder %s. Check the free space and its permissions.", o.Dir)
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv), nats.UserInfo(userBus, own), nats.NoReconnect(),
		nats.Name("packetbench"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Logger.Warn("event log connection", "err", err.Error())
		}))
	if err != nil {
		stop()
		return nil, fmt.Errorf("The event log cannot be reached inside the service: %w.", err)
	}
	s := &serving{srv: srv, nc: nc, dir: o.Dir, slot: slot}
	if err := makeStream(nc, o); err != nil {
		s.end()
		return nil, err
	}
	if err := prove(nc, least); err != nil {
		s.end()
		return nil, err
	}
	if !o.NoListen {
		if a, ok := srv.Addr().(*net.TCPAddr); ok {
			s.addr = a.String()
		}
	}
	return s, nil
}

// comesUp waits until the server takes connections. The server's own wait looks
// every 25 ms, which is longer than all of its start.
func comesUp(srv *server.Server) bool {
	const look, every = 100 * time.Microsecond, time.Millisecond
	for end := time.Now().Add(startMost); time.Now().Before(end); time.Sleep(every) {
		if srv.ReadyForConnections(look) {
			return true
		}
	}
	return false
}

// stop ends the server and frees its files; about 50 ms.
func (s *serving) stop() {
	s.quit.Do(func() {
		s.end()
		if n := s.last.Load(); n > 0 {
			// Without it the next start has one sign less of damage.
			_ = writeHead(s.dir, n)
		}
		<-s.slot
	})
}

// end ends the server of a start that failed; the start keeps the slot.
func (s *serving) end() {
	s.nc.Close()
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// serverOptions are those of real-parts.md 1.
func serverOptions(o ServerOptions, own string) (*server.Options, error) {
	opts := &server.Options{
		ServerName: config.Program, NoSigs: true, NoLog: true, MaxPayload: maxMessageBytes,
		JetStream: true, StoreDir: o.Dir,
		// Only our one stream lives here; without a figure the server reserves
		// by the free space, and refuses the stream on a small disk.
		JetStreamMaxStore: streamsMost, JetStreamMaxMemory: 64 << 20,
		DontListen: o.NoListen,
		Users: []*server.User{
			{Username: userBus, Password: own},
		},
	}
	if o.Logins.Owner.Password != "" && o.Logins.Monitor.Password != "" {
		opts.Users = append(opts.Users,
			&server.User{Username: o.Logins.Owner.User, Password: o.Logins.Owner.Password, Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: append([]string{contract.CommandPattern}, consumerAPI...)},
			}},
			&server.User{Username: o.Logins.Monitor.User, Password: o.Logins.Monitor.Password, Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: append(monitorCalls(), consumerAPI...)},
				Subscribe: &server.SubjectPermission{Deny: []string{contract.CommandPattern}},
			}})
	}
	if o.NoListen {
		return opts, nil
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("The address %q of --nats-addr is not host:port.", o.Addr)
	}
	opts.Host = host
	if opts.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("The port of --nats-addr %q is not a number.", o.Addr)
	}
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	return opts, nil
}

// portFree tells a used address before the server starts: the server itself
// would say it only in its log.
func portFree(addr string) error {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) || isAddrInUse(err) {
		return &PortBusyError{Addr: addr, Flag: "--nats-addr"}
	}
	if err != nil {
		return fmt.Errorf("The address %s cannot be opened: %w. Choose another with --nats-addr.", addr, err)
	}
	return l.Close()
}

// isAddrInUse knows the number of Windows, which syscall does not map.
func isAddrInUse(err error) bool {
	const wsaeaddrinuse = syscall.Errno(10048)
	return errors.Is(err, wsaeaddrinuse)
}

// makeStream creates the stream or brings an older one to the present limits.
func makeStream(nc *nats.Conn, o ServerOptions) error {
	js, err := nc.JetStream(nats.MaxWait(apiWait))
	if err != nil {
		return fmt.Errorf("The event log cannot be opened: %w.", err)
	}
	conf := &nats.StreamConfig{
		Name: streamName, Subjects: contract.LoggedSubjects, Storage: nats.FileStorage,
		Retention: nats.LimitsPolicy, Discard: nats.DiscardOld,
		MaxBytes: o.MaxBytes, MaxAge: o.MaxAge, MaxMsgs: -1, MaxConsumers: -1, Replicas: 1,
		// Messages carry their expected place, so the server need not
		// remember message ids.
		Duplicates: 100 * time.Millisecond,
	}
	have, err := js.StreamInfo(streamName)
	switch {
	case errors.Is(err, nats.ErrStreamNotFound):
		_, err = js.AddStream(conf)
	case err == nil && !sameStream(have.Config, *conf):
		_, err = js.UpdateStream(conf)
	}
	if spoiled(err) {
		return &damage{reason: "the stream cannot be opened: " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("The event log cannot be opened: %w. Check the free space and the permissions of its folder %s.", err, o.Dir)
	}
	return nil
}

// sameStream reports whether a stream is as wanted, in what makeStream sets: an
// update writes a file, which no start needs.
func sameStream(have, want nats.StreamConfig) bool {
	return slices.Equal(have.Subjects, want.Subjects) && have.Storage == want.Storage && have.Retention == want.Retention &&
		have.Discard == want.Discard && have.MaxBytes == want.MaxBytes && have.MaxAge == want.MaxAge &&
		have.MaxMsgs == want.MaxMsgs && have.MaxConsumers == want.MaxConsumers && have.Replicas == want.Replicas &&
		have.Duplicates == want.Duplicates
}

// serverLog passes what the server says to ours: warnings and worse, but for
// those that ask a person for nothing.
type serverLog struct {
	log     *slog.Logger
	fatal   chan string
	rebuilt sync.Once
}

// expected are warnings about choices of ours. The passwords are made anew at
// each start and never leave this machine; an event may be as large as a
// message of a conversation. Source: Server of nats-server 2.15.
var expected = []string{"Plaintext passwords detected", "Maximum payloads over "}

// recovers tells the warning of an index that is older than its log, which a
// kill leaves behind. The server reads the log itself then.
func recovers(text string) bool {
	return strings.HasPrefix(text, "Filestore [") && strings.Contains(text, "] Recovering ") && strings.Contains(text, " from index errored")
}

func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug("nats: " + fmt.Sprintf(format, v...))
}

func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	level := slog.LevelWarn
	switch {
	case slices.ContainsFunc(expected, func(s string) bool { return strings.HasPrefix(text, s) }):
		level = slog.LevelDebug
	case recovers(text):
		level = slog.LevelDebug
		l.rebuilt.Do(func() {
			l.log.Info("event log recovered", "reason", "the service did not end in order last time; the index is built again from the stored events")
		})
	}
	l.log.Log(context.Background(), level, "nats: "+text)
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("nats: " + fmt.Sprintf(format, v...))
}
func (l *serverLog) Debugf(string, ...any) {}
func (l *serverLog) Tracef(string, ...any) {}

// Fatalf keeps the reason; the server means to end the program here.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("nats: " + text)
	select {
	case l.fatal <- text:
	default:
	}
}

func (l *serverLog) lastFatal() string {
	select {
	case text := <-l.fatal:
		return text
	default:
		return ""
	}
}
