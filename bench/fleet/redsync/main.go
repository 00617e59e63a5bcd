// How redsync holds many leases: a goroutine a lease, which extends it once a heartbeat. The figures are printed as one
// line of JSON, in the words of crates/leaseproof/examples/fleet.rs.
//
//	redsync -store 127.0.0.1:6379 -leases 10000 -seconds 30
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var (
	store     = flag.String("store", "127.0.0.1:6379", "host:port of one Redis")
	leases    = flag.Int("leases", 10000, "how many")
	seconds   = flag.Int("seconds", 30, "how long they are held")
	ttl       = flag.Duration("ttl", 4*time.Second, "the expiry")
	heartbeat = flag.Duration("heartbeat", time.Second, "how often each is extended")
	pool      = flag.Int("connections", 64, "connections to Redis, at most")
)

func main() {
	flag.Parse()
	client := redis.NewClient(&redis.Options{Addr: *store, PoolSize: *pool, PoolTimeout: 30 * time.Second})
	rs := redsync.New(goredis.NewPool(client))
	ctx := context.Background()

	var held, renewed, failed, lost, latest atomic.Int64
	var measuring atomic.Bool
	stop := make(chan struct{})
	var acquired, ended sync.WaitGroup
	began := time.Now()
	for number := range *leases {
		acquired.Add(1)
		ended.Add(1)
		go func() {
			defer ended.Done()
			// A name, an expiry, and no second try of its own.
			mutex := rs.NewMutex(fmt.Sprintf("bench/redsync/%d", number), redsync.WithExpiry(*ttl), redsync.WithTries(1))
			for mutex.LockContext(ctx) != nil {
				time.Sleep(*heartbeat / 4)
			}
			held.Add(1)
			due := time.Now().Add(*heartbeat)
			acquired.Done()
			timer := time.NewTimer(time.Until(due))
			for {
				select {
				case <-stop:
					mutex.UnlockContext(ctx)
					return
				case <-timer.C:
				}
				if measuring.Load() {
					late := int64(time.Since(due))
					for was := latest.Load(); late > was && !latest.CompareAndSwap(was, late); was = latest.Load() {
					}
				}
				sent := time.Now()
				// Its own word of how long the lease is valid, a drift taken off.
				if sent.After(mutex.Until()) {
					lost.Add(1)
					held.Add(-1)
					return
				}
				ok, err := mutex.ExtendContext(ctx)
				if ok && err == nil && time.Now().Before(mutex.Until()) {
					renewed.Add(1)
				} else {
					failed.Add(1)
					if time.Now().After(mutex.Until()) {
						lost.Add(1)
						held.Add(-1)
						return
					}
				}
				due = sent.Add(*heartbeat)
				timer.Reset(time.Until(due))
			}
		}()
	}
	acquired.Wait()
	acquiring := time.Since(began)
	time.Sleep(2 * *heartbeat)
	measuring.Store(true)
	before, cpu, at := renewed.Load(), cpuTime(), time.Now()
	time.Sleep(time.Duration(*seconds) * time.Second)
	took, count, used := time.Since(at), renewed.Load()-before, cpuTime()-cpu
	measuring.Store(false)
	line, _ := json.Marshal(map[string]any{
		"who": "redsync", "leases": *leases, "held": held.Load(), "lost": lost.Load(), "failed": failed.Load(),
		"acquired_in_s": acquiring.Seconds(), "renewals_per_s": float64(count) / took.Seconds(),
		"cpu": used.Seconds() / took.Seconds(), "worst_lateness_ms": float64(latest.Load()) / 1e6, "rss_mib": rss(),
	})
	fmt.Println(string(line))
	// The rest would only be waited for.
	os.Exit(0)
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The most that it ever had, in MiB.
func rss() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Maxrss) / 1024
}
