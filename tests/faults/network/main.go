// Command lossy-network makes network namespaces and passes packets between them, with faults: the test's stand-in for
// `tc netem` of bridges and virtual Ethernet, which a kernel may lack (CONFIG_NET_SCH_NETEM).
//
//	lossy-network [-seed 1] =10.77.0.1 NAME=ADDRESS …
//
// Each name gets a namespace of its own (`ip netns add`), with a TUN device that has the address; no name stands for the
// namespace in which the command runs. It prints `ready`. Then it reads a rule a line, as JSON, prints `ok` for each, and
// at the end of its input what became of the packets. It needs root, and ends with its devices.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	device     = "lossy0"
	packetMax  = 65_536
	queuedMax  = 10_000
	headerSize = 20
)

// rule is what happens to packets of one direction. Probabilities are from 0 to 1.
type rule struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Loss      float64 `json:"loss"`
	Duplicate float64 `json:"duplicate"`
	// A packet waits for DelayMs and for up to JitterMs more, each by itself: with jitter they overtake each other.
	DelayMs  float64 `json:"delay_ms"`
	JitterMs float64 `json:"jitter_ms"`
}

// counts is what became of packets.
type counts struct {
	Passed     int `json:"passed"`
	Lost       int `json:"lost"`
	Duplicated int `json:"duplicated"`
	Overtaken  int `json:"overtaken"`
}

type pair struct{ from, to string }

// stream is the state of one direction.
type stream struct {
	rule      rule
	sent      int
	delivered int
	queued    int
}

type network struct {
	mutex   sync.Mutex
	random  *rand.Rand
	devices map[string]*os.File
	// names are by addresses.
	names   map[[4]byte]string
	streams map[pair]*stream
	counts  counts
}

func main() {
	log.SetFlags(0)
	seed := flag.Uint64("seed", 1, "what packets meet is drawn from it")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("Usage: lossy-network [-seed NUMBER] [NAME]=ADDRESS …")
	}
	// Its namespace is changed for a moment: that belongs to a thread.
	runtime.LockOSThread()
	net := &network{
		random:  rand.New(rand.NewPCG(*seed, 0)),
		devices: map[string]*os.File{},
		names:   map[[4]byte]string{},
		streams: map[pair]*stream{},
	}
	for _, each := range flag.Args() {
		name, address, isPair := strings.Cut(each, "=")
		if !isPair {
			log.Fatalf("expected NAME=ADDRESS, found %s", each)
		}
		if err := net.add(name, address); err != nil {
			log.Fatalf("%s: %v", each, err)
		}
	}
	for name, file := range net.devices {
		go net.read(name, file)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var next rule
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			log.Fatalf("a rule cannot be read: %v", err)
		}
		net.mutex.Lock()
		net.stream(pair{next.From, next.To}).rule = next
		net.mutex.Unlock()
		fmt.Println("ok")
	}
	net.mutex.Lock()
	text, _ := json.Marshal(net.counts)
	fmt.Println(string(text))
}

// add makes a namespace with its device.
func (net *network) add(name, address string) error {
	var bytes [4]byte
	if _, err := fmt.Sscanf(address, "%d.%d.%d.%d", &bytes[0], &bytes[1], &bytes[2], &bytes[3]); err != nil {
		return err
	}
	within := []string{}
	if name != "" {
		if err := ip("netns", "add", name); err != nil {
			return err
		}
		within = []string{"-n", name}
	}
	file, err := open(name)
	if err != nil {
		return err
	}
	for _, command := range []string{
		"link set lo up",
		"addr add " + address + "/24 dev " + device,
		"link set " + device + " up",
	} {
		if err := ip(append(within, strings.Fields(command)...)...); err != nil {
			return err
		}
	}
	net.devices[name] = file
	net.names[bytes] = name
	return nil
}

// open makes a TUN device in a namespace. It stays there, and its file is read here.
func open(name string) (*os.File, error) {
	if name != "" {
		here, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return nil, err
		}
		defer here.Close()
		there, err := os.Open("/run/netns/" + name)
		if err != nil {
			return nil, err
		}
		defer there.Close()
		if err := enter(there); err != nil {
			return nil, err
		}
		defer enter(here)
	}
	descriptor, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var request [40]byte
	copy(request[:], device)
	*(*uint16)(unsafe.Pointer(&request[syscall.IFNAMSIZ])) = syscall.IFF_TUN | syscall.IFF_NO_PI
	_, _, code := syscall.Syscall(
		syscall.SYS_IOCTL, uintptr(descriptor), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)),
	)
	if code != 0 {
		return nil, fmt.Errorf("TUNSETIFF: %w", code)
	}
	return os.NewFile(uintptr(descriptor), device), nil
}

// setns has no name in package syscall.
var setns = map[string]uintptr{"amd64": 308, "arm64": 268}

func enter(namespace *os.File) error {
	if _, _, code := syscall.RawSyscall(setns[runtime.GOARCH], namespace.Fd(), syscall.CLONE_NEWNET, 0); code != 0 {
		return fmt.Errorf("setns: %w", code)
	}
	return nil
}

func ip(arguments ...string) error {
	if text, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %s", strings.Join(arguments, " "), text)
	}
	return nil
}

// read passes on what a namespace sends.
func (net *network) read(from string, file *os.File) {
	buffer := make([]byte, packetMax)
	for {
		length, err := file.Read(buffer)
		if err != nil {
			log.Fatalf("%s cannot be read: %v", from, err)
		}
		if length < headerSize || buffer[0]>>4 != 4 {
			continue
		}
		to, isKnown := net.names[[4]byte(buffer[16:20])]
		if isKnown {
			net.pass(pair{from, to}, append([]byte(nil), buffer[:length]...))
		}
	}
}

// pass lets a packet meet its rule.
func (net *network) pass(way pair, packet []byte) {
	net.mutex.Lock()
	defer net.mutex.Unlock()
	stream := net.stream(way)
	copies := 1
	if net.random.Float64() < stream.rule.Loss || stream.queued >= queuedMax {
		net.counts.Lost++
		return
	}
	if net.random.Float64() < stream.rule.Duplicate {
		net.counts.Duplicated++
		copies = 2
	}
	for range copies {
		stream.sent++
		number := stream.sent
		wait := stream.rule.DelayMs + stream.rule.JitterMs*net.random.Float64()
		if wait == 0 {
			net.deliver(stream, way.to, packet, number)
			continue
		}
		stream.queued++
		time.AfterFunc(time.Duration(wait*float64(time.Millisecond)), func() {
			net.mutex.Lock()
			defer net.mutex.Unlock()
			stream.queued--
			net.deliver(stream, way.to, packet, number)
		})
	}
}

// deliver writes a packet to its namespace. A full device loses it.
func (net *network) deliver(stream *stream, to string, packet []byte, number int) {
	if number < stream.delivered {
		net.counts.Overtaken++
	} else {
		stream.delivered = number
	}
	net.counts.Passed++
	net.devices[to].Write(packet)
}

func (net *network) stream(way pair) *stream {
	found := net.streams[way]
	if found == nil {
		found = &stream{}
		net.streams[way] = found
	}
	return found
}
