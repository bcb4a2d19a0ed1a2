package main

import "strings"

// translate finds the flow's parameters, and what becomes of every property.
func translate(all map[string]string, wanted string) (report, error) {
	f, err := pick(all, wanted)
	if err != nil {
		return report{}, err
	}
	r := report{flow: f, parameters: map[string]string{
		"SourceClusterAlias": f.source, "TargetClusterAlias": f.target,
		"SourceSecurityProtocol": "PLAINTEXT", "TargetSecurityProtocol": "PLAINTEXT", // Kafka's default; the template's is IAM
		"OffsetSyncsTopicLocation": "source", "ScheduleState": "DISABLED",
	}}
	known, ranks := rules(), map[string]int{}
	for _, p := range f.concern(all) {
		r.add(p, known, ranks)
	}
	r.advise()
	return r, nil
}

// add notes one property.
func (r *report) add(p property, known []rule, ranks map[string]int) {
	if p.others {
		r.note(p, needless, "it is of another flow or cluster: import that on its own")
		return
	}
	rule, ok := find(known, p.key, p.value)
	switch {
	case !ok:
		r.note(p, unsupported, "it is not known: see MM2's documentation for what it does, and whether the flow can do without")
		return
	case rule.fate != carried:
		r.note(p, rule.fate, rule.why)
		return
	}
	sides := []string{p.side}
	switch perSide := strings.HasPrefix(rule.parameter, "*"); {
	case perSide && p.side == "":
		sides = []string{"Source", "Target"}
	case !perSide:
		sides = []string{""}
	}
	value, say := p.value, ""
	if rule.check != nil {
		say = rule.check(value)
	}
	if say != "" && rule.skip {
		r.note(p, unsupported, say)
		return
	}
	if rule.change != nil && say == "" {
		value = rule.change(value)
	}
	var set []string
	for _, side := range sides {
		name := side + strings.TrimPrefix(rule.parameter, "*")
		if rank, earlier := ranks[name]; earlier && rank > p.rank {
			continue
		}
		ranks[name], r.parameters[name] = p.rank, value
		set = append(set, name)
	}
	switch {
	case len(set) == 0:
		r.note(p, needless, "a more specific property counts")
		return
	case say != "": // left to be refused: without it the template's default would stand, which is another flow
		r.note(p, unsupported, say+". Change "+strings.Join(set, ", ")+", which is refused as it is")
		return
	}
	r.note(p, carried, strings.Join(set, ", "))
}

func (r *report) note(p property, f fate, why string) {
	r.entries = append(r.entries, entry{p.name, f, why})
}

// advise says what the file does not.
func (r *report) advise() {
	r.notes = append(r.notes,
		"ScheduleState=DISABLED until the flow is taken over: docs/mm2.md has the steps.",
		"Add SourceClusterArn and TargetClusterArn (MSK), SubnetIds and SecurityGroupIds: docs/deploy.md.")
	for _, side := range []string{"Source", "Target"} {
		protocol, mechanism := r.parameters[side+"SecurityProtocol"], r.parameters[side+"SaslMechanism"]
		if r.parameters[side+"BootstrapServers"] == "" {
			r.notes = append(r.notes, "Set "+side+"BootstrapServers: the file names none.")
		}
		if strings.HasPrefix(protocol, "SASL") && mechanism == "" {
			r.notes = append(r.notes, "Set "+side+"SaslMechanism: the file names none (Java's default, GSSAPI, is not supported).")
		}
		if strings.HasPrefix(protocol, "SASL") && mechanism != "AWS_MSK_IAM" {
			r.notes = append(r.notes, "Set "+side+"SecretArn: a secret with username and password.")
		}
	}
	r.notes = append(r.notes, "MM2's heartbeats come once a second by default, ours once a minute: EmitHeartbeatsIntervalSeconds.",
		"MM2 syncs topics' settings and ACLs by default; Tidemark does not: what is there stays as it is.")
}
