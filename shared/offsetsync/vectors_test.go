package offsetsync_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/offsetsync"
)

// vector is a history of one partition and what Java's store makes of it: the slots, by OffsetSyncStoreTest.java or by
// running OffsetSyncStore, and translations, upstream to downstream.
type vector struct {
	name          string
	loading, live []pair
	slots         string
	translations  map[int64]int64
}

func (v vector) check(t *testing.T, m offsetsync.Mode) {
	t.Helper()
	s := store(m, v.loading, v.live)
	if diff := cmp.Diff(v.slots, offsetsync.Text(s.Slots(orders))); v.slots != "" && diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	for upstream, want := range v.translations {
		if got, ok := s.Translate(orders, upstream); got != want || !ok {
			t.Errorf("Translate(%d) = %d, %t, want %d, true", upstream, got, ok, want)
		}
	}
}

// gaps are syncs of a source with gaps that the target does not have.
var gaps = []pair{{0, 0}, {100, 90}, {250, 230}, {251, 231}, {252, 232}, {400, 380}, {1000, 960}, {5000, 4800}}

// liveVectors are fed after the initial read of an empty topic, so the mode makes no difference.
func liveVectors() []vector {
	return []vector{
		{name: "T1 one sync", live: []pair{{100, 200}}, slots: "0=100:200", translations: map[int64]int64{150: 201}},
		{name: "T2 a sync farther on", live: []pair{{100, 200}, {150, 251}}, translations: map[int64]int64{150: 251, 5: -1}},
		{name: "T3 the target went back", live: []pair{{100, 200}, {150, 251}, {200, 10}}, translations: map[int64]int64{200: 10}},
		{name: "T4 the source went back", live: []pair{{100, 200}, {150, 251}, {200, 10}, {20, 20}}, slots: "0=20", translations: map[int64]int64{20: 20}},
		{name: "C", live: []pair{{11, 4}, {12, 5}}, translations: map[int64]int64{13: 6}},
		{
			name: "C2", live: []pair{{11, 4}, {12, 5}, {13, 6}, {14, 7}, {15, 8}, {16, 9}, {17, 10}},
			slots: "0=17:10 1=16:9 2=15:8 3=11:4", translations: map[int64]int64{13: 5, 12: 5, 11: 4},
		},
		{name: "E step 1", live: every(0, 1, 64), slots: "0=64 1=63 2=62 3=60 4=56 5=48 6=32 7=0"},
		{name: "F step 100", live: every(0, 100, 10_000), slots: "0=10000 8=9900 9=9800 10=9600 11=8800 12=8000 13=6400 14=0"},
		{
			name: "G step 100 to a million", live: every(0, 100, 1_000_000),
			slots: "0=1000000 8=999900 9=999800 10=999600 11=999200 12=998400 13=995200 14=992000 15=985600 16=972800 17=921600 18=819200 19=614400 20=409600 21=0",
			translations: map[int64]int64{
				999_950: 999_901, 999_500: 999_201, 990_000: 985_601, 900_000: 819_201, 500_000: 409_601, 100_000: 1,
			},
		},
		{
			name: "H equal syncs are two", live: []pair{{0, 0}, {0, 0}, {5, 3}},
			slots: "0=5:3 4=0", translations: map[int64]int64{0: 0, 4: 1, 5: 3, 6: 4},
		},
		{
			name: "H2 an equal upstream offset is no way back", live: []pair{{0, 0}, {0, 0}, {5, 3}, {5, 9}},
			slots: "0=5:9 1=5:3 4=0", translations: map[int64]int64{5: 9, 6: 10},
		},
		{
			name: "I the largest offsets", live: []pair{{math.MaxInt64 - 2, 7}, {math.MaxInt64 - 1, 8}, {math.MaxInt64, math.MaxInt64}},
			translations: map[int64]int64{math.MaxInt64: math.MaxInt64, math.MaxInt64 - 3: -1},
		},
		{
			name: "I2 a bound past the largest offset", live: []pair{{math.MaxInt64 - 10, 1}, {math.MaxInt64, 2}},
			slots:        "0=9223372036854775807:2 5=9223372036854775797:1",
			translations: map[int64]int64{math.MaxInt64 - 1: 2, math.MaxInt64 - 11: -1},
		},
		{name: "J 100", live: gaps[:2], slots: "0=100:90 8=0"},
		{name: "J 250", live: gaps[:3], slots: "0=250:230 9=0"},
		{name: "J 251", live: gaps[:4], slots: "0=251:231 1=250:230 9=0"},
		{name: "J 252", live: gaps[:5], slots: "0=252:232 1=251:231 2=250:230 9=0"},
		{name: "J 400", live: gaps[:6], slots: "0=400:380 9=252:232 10=0"},
		{name: "J 1000", live: gaps[:7], slots: "0=1000:960 11=0"},
		{
			name: "J", live: gaps, slots: "0=5000:4800 14=0",
			translations: map[int64]int64{99: 1, 100: 1, 251: 1, 399: 1, 1000: 1, 4999: 1, 5000: 4800, 6000: 4801},
		},
	}
}

func TestVectorsFedLive(t *testing.T) {
	t.Parallel()
	for _, v := range liveVectors() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			v.check(t, offsetsync.History)
			v.check(t, offsetsync.LatestOnly)
		})
	}
}

// With its history usable, a loaded store is the one that was there all the time; without, only the last sync is left.
func TestVectorsFedByTheInitialRead(t *testing.T) {
	t.Parallel()
	for _, v := range liveVectors() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			v.loading, v.live = v.live, nil
			v.check(t, offsetsync.History)

			last := v.loading[len(v.loading)-1]
			v.slots = offsetsync.Text([]offsetsync.Slot{{Index: 0, Upstream: last[0], Downstream: last[1]}})
			v.translations = map[int64]int64{last[0] - 1: -1, last[0]: last[1]}
			if last[0] < math.MaxInt64 {
				v.translations[last[0]+1] = last[1] + 1
			}
			v.check(t, offsetsync.LatestOnly)
		})
	}
}

func TestVectorsByMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		vector
		mode offsetsync.Mode
	}{
		{vector{
			name: "A", loading: every(0, 10, 1000),
			slots: "0=1000", translations: map[int64]int64{999: -1, 1000: 1000, 1001: 1001, 1002: 1001},
		}, offsetsync.LatestOnly},
		{vector{
			name: "A2", loading: every(0, 10, 1000), live: every(1010, 10, 10_000),
			slots: "0=10000 5=9990 6=9970 7=9940 8=9880 9=9640 10=9160 11=8680 12=6760 13=4840 14=1000",
		}, offsetsync.LatestOnly},
		{vector{
			name: "A4", loading: every(0, 10, 1000), live: append(every(1010, 10, 10_000), pair{1500, 11_000}),
			slots: "0=1500:11000", translations: map[int64]int64{1499: -1, 1500: 11_000, 2000: 11_001},
		}, offsetsync.LatestOnly},
		{vector{
			name: "B", loading: every(0, 10, 1000),
			slots: "0=1000 5=990 6=960 7=900 8=840 9=720 10=480 11=0",
		}, offsetsync.History},
		{vector{
			name: "B2", loading: every(0, 10, 1000), live: every(1000, 10, 10_000),
			slots:        "0=10000 5=9990 6=9960 7=9900 8=9840 9=9600 10=9120 11=8640 12=7680 13=3840 14=0",
			translations: map[int64]int64{3839: 1},
		}, offsetsync.History},
		{vector{
			name: "D", loading: every(100, 100, 300),
			slots: "0=300 8=200 9=100", translations: map[int64]int64{250: 201},
		}, offsetsync.History},
		{vector{
			name: "D2", loading: []pair{{175, 175}, {275, 275}, {375, 375}, {475, 475}},
			slots: "0=475 8=375 9=175", translations: map[int64]int64{250: 176, 370: 176, 400: 376},
		}, offsetsync.History},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, tt.mode)
		})
	}
}

// A3: around every sync that is left, in both modes.
func TestTranslateAroundEachSlot(t *testing.T) {
	t.Parallel()
	for _, m := range []offsetsync.Mode{offsetsync.History, offsetsync.LatestOnly} {
		s := store(m, every(0, 10, 1000), every(1010, 10, 10_000))
		older := int64(-1)
		list := s.Slots(orders)
		if len(list) < 10 {
			t.Fatalf("mode %d leaves %d syncs, want 10 or more", m, len(list))
		}
		for _, slot := range slices.Backward(list) {
			sync := slot.Upstream
			want := map[int64]int64{sync - 1: older + 1, sync: sync, sync + 1: sync + 1, sync + 2: sync + 1}
			if older < 0 {
				want[sync-1] = -1
			}
			for upstream, downstream := range want {
				if got, ok := s.Translate(orders, upstream); got != downstream || !ok {
					t.Errorf("mode %d: Translate(%d) = %d, %t, want %d, true", m, upstream, got, ok, downstream)
				}
			}
			older = sync
		}
	}
}
