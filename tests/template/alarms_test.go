package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/checkpoint"
)

// alarms are what the template has, apart from descriptions. The dimension is the flow alone, for that is all that the
// functions' metrics bear; each further value would be another metric to pay for.
func alarms() map[string]object {
	alarm := func(metric, statistic, periods, datapoints, comparison, threshold, missing string) object {
		return object{
			"Namespace": "Tidemark", "MetricName": metric, "Dimensions": []any{object{"Name": "Flow", "Value": "us->eu"}},
			"Statistic": statistic, "Period": "60", "EvaluationPeriods": periods, "DatapointsToAlarm": datapoints,
			"ComparisonOperator": comparison, "Threshold": threshold, "TreatMissingData": missing,
		}
	}
	passes := alarm(checkpoint.PassSucceeded, "Sum", "3", "3", "LessThanThreshold", "1", "breaching")
	passes["WarmUpConfiguration"] = object{"WarmUpPeriodDurationInMinutes": "15"}
	return map[string]object{
		"StalledPartitionsAlarm": alarm(checkpoint.StalledPartitions, "Maximum", "3", "2", "GreaterThanThreshold", "0", "ignore"),
		"WatermarkAgeAlarm":      alarm(checkpoint.WatermarkAgeSeconds, "Maximum", "5", "3", "GreaterThanThreshold", "300", "ignore"),
		"PassSucceededAlarm":     passes,
	}
}

// alarmsOf are the alarms of a stack; each must say what it means.
func alarmsOf(s *stack) map[string]object {
	s.t.Helper()
	found := make(map[string]object)
	for id, r := range s.resources() {
		if r["Type"] != "AWS::CloudWatch::Alarm" {
			continue
		}
		p := at(r, "Properties")
		if p["AlarmDescription"] == nil {
			s.t.Errorf("%s has no description", id)
		}
		delete(p, "AlarmDescription")
		found[id] = p
	}
	return found
}

func TestAlarms(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(alarms(), alarmsOf(deploy(t, nil))); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
}

// TestAlarmsTellSomebody gives the stack a topic to tell, and a namespace of its own.
func TestAlarmsTellSomebody(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:us-east-1:" + account + ":oncall"
	want := alarms()
	for _, alarm := range want {
		alarm["AlarmActions"], alarm["OKActions"] = []any{topic}, []any{topic}
		alarm["Namespace"] = "Mine"
	}
	if diff := cmp.Diff(want, alarmsOf(deploy(t, map[string]string{"AlarmTopicArn": topic, "MetricsNamespace": "Mine"}))); diff != "" {
		t.Errorf("alarms with a topic (-want +got):\n%s", diff)
	}
}
