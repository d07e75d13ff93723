package store

import "strings"

// maxBusy is how many lanes of conversations may do file work at once. More
// would only queue in the disk, and each holds a file's content in memory.
const maxBusy = 8

// job is one piece of file work. Run runs outside the actor and returns what is
// to be done in the actor afterwards; drop, which may be nil, is called in the
// actor instead of both when the job is cancelled.
type job struct {
	run  func() (after func())
	drop func()
	// cancellable is true for saves, which a deletion makes pointless.
	cancellable bool

	seq uint64
}

// lanes orders jobs: those of one lane one after the other, those of different
// lanes at the same time. It belongs to one goroutine and starts nothing
// itself: start is called with each job whose turn has come.
type lanes struct {
	start func(lane string, j job)

	next    uint64
	queues  map[string][]job
	running map[string]bool
	// first and ready are the lanes whose turn has come: those of the service,
	// which are few and start at once, and those of conversations, of which busy
	// run. Every turn that begins asks for the settings; it must not wait until
	// the disk has taken what all other conversations have to save.
	first, ready []string
	busy         int
	// barriers wait for all jobs that were there before them.
	barriers []*barrier
	left     int
}

type barrier struct {
	upTo uint64
	left int
	done func()
}

func newLanes(start func(lane string, j job)) *lanes {
	return &lanes{start: start, queues: make(map[string][]job), running: make(map[string]bool)}
}

// push queues a job behind those of its lane.
func (l *lanes) push(lane string, j job) {
	l.next++
	j.seq = l.next
	l.left++
	l.queues[lane] = append(l.queues[lane], j)
	if len(l.queues[lane]) == 1 && !l.running[lane] {
		l.await(lane)
	}
	l.pump()
}

func ofConversation(lane string) bool { return strings.HasPrefix(lane, laneOf) }

func (l *lanes) await(lane string) {
	if ofConversation(lane) {
		l.ready = append(l.ready, lane)
	} else {
		l.first = append(l.first, lane)
	}
}

// pump starts what may start.
func (l *lanes) pump() {
	for len(l.first) > 0 {
		lane := l.first[0]
		l.first = l.first[1:]
		l.begin(lane)
	}
	for len(l.ready) > 0 && l.busy < maxBusy {
		lane := l.ready[0]
		l.ready = l.ready[1:]
		if l.begin(lane) {
			l.busy++
		}
	}
}

// begin starts the next job of a lane; false when all were cancelled.
func (l *lanes) begin(lane string) bool {
	queue := l.queues[lane]
	if len(queue) == 0 {
		delete(l.queues, lane)
		return false
	}
	l.queues[lane] = queue[1:]
	l.running[lane] = true
	l.start(lane, queue[0])
	return true
}

// ended says that the running job of a lane has ended.
func (l *lanes) ended(lane string, seq uint64) {
	delete(l.running, lane)
	if ofConversation(lane) {
		l.busy--
	}
	if len(l.queues[lane]) > 0 {
		l.await(lane)
	} else {
		delete(l.queues, lane)
	}
	l.settle(seq)
	l.pump()
}

// cancel drops the waiting jobs of a lane that may be cancelled.
func (l *lanes) cancel(lane string) {
	var kept []job
	queue := l.queues[lane]
	for _, j := range queue {
		if !j.cancellable {
			kept = append(kept, j)
			continue
		}
		if j.drop != nil {
			j.drop()
		}
		l.settle(j.seq)
	}
	l.queues[lane] = kept
}

func (l *lanes) settle(seq uint64) {
	l.left--
	var waiting, met []*barrier
	for _, b := range l.barriers {
		if seq <= b.upTo {
			b.left--
		}
		if b.left > 0 {
			waiting = append(waiting, b)
		} else {
			met = append(met, b)
		}
	}
	l.barriers = waiting
	for _, b := range met {
		b.done() // May push jobs and barriers of its own.
	}
}

// after calls done when every job that is here now has ended.
func (l *lanes) after(done func()) {
	if l.left == 0 {
		done()
		return
	}
	l.barriers = append(l.barriers, &barrier{upTo: l.next, left: l.left, done: done})
}
